"""Carries out what the answer of an LLM asks for."""
