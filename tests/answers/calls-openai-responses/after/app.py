import sys


def greet(name):
    return "Hi, " + name


def main():
    print(greet(sys.argv[1]))
