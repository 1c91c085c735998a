import sys


def greet(name):
    print('hi', name)


def main(argv):
    greet('you')
