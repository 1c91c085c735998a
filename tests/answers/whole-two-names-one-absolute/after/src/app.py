# /home/user/project/src/app.py
x = 1
