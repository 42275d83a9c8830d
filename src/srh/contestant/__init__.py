"""What runs inside the confinement: the only place that imports untrusted code.

Nobody imports this package; its modules are started by name, each in a process of its own. What
they say is the word of whoever wrote the trial: their code shares the process with ours, and can
change anything here. So nothing here protects a score. It makes an honest trial's life simple, and
a dishonest one can lie with it about its own predictions only.
"""
