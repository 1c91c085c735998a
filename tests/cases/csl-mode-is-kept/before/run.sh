#!/bin/sh
old
