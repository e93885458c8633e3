#pragma once

#include <torch/torch.h>

#include "lockstep/record/run_spec.h"

namespace lockstep::train {

/// What of the spec libraries of the GPU read from the environment when they are first used: to be
/// called before ranks connect.
void set_device_environment(const record::RunSpec& spec);

/// What of the spec is set for the whole process, before the first operation of a GPU: TF32, the
/// search for the fastest convolutions, deterministic algorithms. Settings of GPUs that do not
/// apply are switched off in the spec, so that it records what was in effect.
void apply_device_settings(record::RunSpec& spec);

/// Lays out the weights of convolutions so that channels are next to each other in memory, which
/// tensor cores want; all others stay.
void use_channels_last(torch::nn::Module& network);

}  // namespace lockstep::train
