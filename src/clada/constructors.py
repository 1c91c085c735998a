"""Constructors of values by their number of fields, for values.py to copy with other names.

Written by `python -m tools.constructors`, so that they are compiled once and not at each start.
"""

# ruff: noqa: ANN001, ANN202, E501, PLR0913, PLR0917 (nobody calls them by these names)
# mypy: ignore-errors
# fmt: off


def _init_0(self):
    pass


def _init_1(self, f1):
    self.f1 = f1


def _init_2(self, f1, f2):
    self.f1 = f1
    self.f2 = f2


def _init_3(self, f1, f2, f3):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3


def _init_4(self, f1, f2, f3, f4):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4


def _init_5(self, f1, f2, f3, f4, f5):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5


def _init_6(self, f1, f2, f3, f4, f5, f6):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6


def _init_7(self, f1, f2, f3, f4, f5, f6, f7):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7


def _init_8(self, f1, f2, f3, f4, f5, f6, f7, f8):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8


def _init_9(self, f1, f2, f3, f4, f5, f6, f7, f8, f9):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9


def _init_10(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10


def _init_11(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11


def _init_12(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12


def _init_13(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13


def _init_14(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14


def _init_15(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14
    self.f15 = f15


def _init_16(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14
    self.f15 = f15
    self.f16 = f16


def _init_17(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14
    self.f15 = f15
    self.f16 = f16
    self.f17 = f17


def _init_18(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14
    self.f15 = f15
    self.f16 = f16
    self.f17 = f17
    self.f18 = f18


def _init_37(self, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37):
    self.f1 = f1
    self.f2 = f2
    self.f3 = f3
    self.f4 = f4
    self.f5 = f5
    self.f6 = f6
    self.f7 = f7
    self.f8 = f8
    self.f9 = f9
    self.f10 = f10
    self.f11 = f11
    self.f12 = f12
    self.f13 = f13
    self.f14 = f14
    self.f15 = f15
    self.f16 = f16
    self.f17 = f17
    self.f18 = f18
    self.f19 = f19
    self.f20 = f20
    self.f21 = f21
    self.f22 = f22
    self.f23 = f23
    self.f24 = f24
    self.f25 = f25
    self.f26 = f26
    self.f27 = f27
    self.f28 = f28
    self.f29 = f29
    self.f30 = f30
    self.f31 = f31
    self.f32 = f32
    self.f33 = f33
    self.f34 = f34
    self.f35 = f35
    self.f36 = f36
    self.f37 = f37


CONSTRUCTORS = {
    0: _init_0,
    1: _init_1,
    2: _init_2,
    3: _init_3,
    4: _init_4,
    5: _init_5,
    6: _init_6,
    7: _init_7,
    8: _init_8,
    9: _init_9,
    10: _init_10,
    11: _init_11,
    12: _init_12,
    13: _init_13,
    14: _init_14,
    15: _init_15,
    16: _init_16,
    17: _init_17,
    18: _init_18,
    37: _init_37,
}
