import sys


def hail(name):
    return "Hi, " + name


def main():
    print(hail(sys.argv[1]))
