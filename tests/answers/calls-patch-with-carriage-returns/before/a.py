x

z
