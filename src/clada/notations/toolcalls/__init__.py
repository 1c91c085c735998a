"""Tool calls of agents: in JSON (`calls`), in tags (`tags`), and the operations they ask for (`tools`)."""
