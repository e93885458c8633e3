#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/nets/layers/moment_exchange.h"

namespace lockstep::nets {

/// Turns the moments of a rank's own `rows` values per channel into those of all ranks' values, and
/// returns how many those are. Variances are biased.
std::int64_t combine_moments(MomentExchange& exchange, std::int64_t rows, std::span<float> mean,
                             std::span<float> variance);

/// Sums the two per-channel sums of a batch norm's gradient over ranks.
void combine_gradient_sums(MomentExchange& exchange, std::span<double> sums,
                           std::span<double> products);

/// norm(input) over the global batch, for any floats of N x C x ... on a CPU, by ATen's operations;
/// training only. Updates running averages as BatchNorm2d does.
torch::Tensor sync_batch_norm(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& input,
                              MomentExchange& exchange);

/// Running averages as BatchNorm2d keeps them: the variance unbiased.
void update_running_averages(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& mean,
                             const torch::Tensor& variance, std::int64_t rows);

}  // namespace lockstep::nets
