"""Algebra as an answer: what a language model wrote, with the data of the problem, becomes a Problem.

problem = algebra_answer(text, data)          # Unsupported or ParseError where anything is not understood
"""

from orpipe.algebra.answer.read import Reading, algebra_answer, holds_formulation, read_answer

__all__ = ["Reading", "algebra_answer", "holds_formulation", "read_answer"]
