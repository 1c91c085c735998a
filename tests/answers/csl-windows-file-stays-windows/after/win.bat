@echo off
echo one
echo and
echo two
