import os


def greet(name):
    print('good day', name)


def main():
    greet('you')
