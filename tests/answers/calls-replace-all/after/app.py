import sys


def hail(name):
    return "Hello, " + name


def main():
    print(hail(sys.argv[1]))
