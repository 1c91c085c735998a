import os


def greet(name):
    print('hello', name)


def main():
    greet('you')
