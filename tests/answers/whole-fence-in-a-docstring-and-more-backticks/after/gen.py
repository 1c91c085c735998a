"""Generate.

```
gen a b
```
"""
x = 1
