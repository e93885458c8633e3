"""Measures an unchanged training script from inside and writes record lines for `lockstep`.

Standard library only. Nothing here may break the script: every hook is guarded, and the first
surprise switches watching off with one line on stderr.

bootstrap   waits for the import of torch or keras, then installs the hooks
switch      the one on/off switch, and the guard around every hook
clock       gives every moment to exactly one phase
steps       where a step begins and ends, what was evaluation, how many examples
hooks       the public interfaces of PyTorch that are wrapped
ddp         communication of DistributedDataParallel and of Python-level collectives
flops       operations of one step, from the layers with weights
keras       `fit` of Keras
noise       squared gradient norms before and after averaging, on sampled steps
cuda        the phase clock for GPUs: events, no synchronisation
energy      counters of processors and GPUs
sharing     ranks that compute each example together
writer      the record file of this process
"""
