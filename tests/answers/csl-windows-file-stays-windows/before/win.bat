@echo off
echo one
echo two
