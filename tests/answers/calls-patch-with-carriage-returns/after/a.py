y

z
