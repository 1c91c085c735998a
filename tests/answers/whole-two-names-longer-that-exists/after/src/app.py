# src/app.py
x = 1
