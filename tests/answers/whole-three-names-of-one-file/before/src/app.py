# project/src/app.py
x = 0
