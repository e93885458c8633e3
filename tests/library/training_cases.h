#pragma once

#include <lockstep/lockstep.h>

/// What training_program does besides training one network. Each prints whether the ranks agree
/// with one process.

void run_uneven(lockstep::Job& job);
void run_gan(lockstep::Job& job);
void run_summed_losses(lockstep::Job& job);
void run_batch_norm(lockstep::Job& job);
void run_helpers(lockstep::Job& job);
void run_optimizers(lockstep::Job& job);
