import os
import sys


def greet(name):
    print('hi', name)


def main():
    greet('you')
