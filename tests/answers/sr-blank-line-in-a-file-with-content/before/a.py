a

b

c
