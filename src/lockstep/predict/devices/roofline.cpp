#include "lockstep/predict/devices/roofline.h"

#include <algorithm>

namespace lockstep::predict {
namespace {

constexpr double kBytes = 4;
/// See device_ratio(): ratios of measured one-device throughputs at large batches (P100, V100, T4)
/// lie within this factor of the bound's.
constexpr double kRatioSpread = 1.35;
/// A processor's measured matrix product against a data sheet: what part of either a network
/// reaches is not known to be the same.
constexpr double kMixedSpread = 2;

struct Pass {
  double flops;
  double bytes;
};

/// Forward reads inputs and weights and writes outputs. Backward computes two gradients: it reads
/// outputs' gradients and inputs twice over, reads and writes weights, writes inputs' gradients.
Pass forward(const LayerCost& layer, double batch) {
  return {layer.flops * batch,
          kBytes * (batch * (layer.inputs + layer.outputs) + layer.parameters)};
}

Pass backward(const LayerCost& layer, double batch) {
  const double gradients = layer.parameters > 0 ? 2 : 1;
  return {2 * layer.flops * batch,
          kBytes * (batch * (gradients * (layer.inputs + layer.outputs) + layer.inputs) +
                    2 * layer.parameters)};
}

}  // namespace

StepTimeBound bound_step(const TrainingCost& cost, const Device& device, double batch) {
  StepTimeBound bound;
  double memory_seconds = 0;
  const auto add = [&](const std::string& name, const Pass& pass, double times) {
    const double arithmetic = pass.flops / device.sustained_flops();
    const double traffic = pass.bytes / device.bytes_per_s;
    const double seconds = times * std::max(arithmetic, traffic);
    bound.layers.push_back({name, seconds, traffic > arithmetic});
    bound.seconds += seconds;
    if (traffic > arithmetic) memory_seconds += seconds;
  };
  for (const NetworkPart& part : cost.parts) {
    for (const LayerCost& layer : part.layers) {
      add(part.name + "." + layer.name + " forward", forward(layer, batch), part.forward);
      add(part.name + "." + layer.name + " backward", backward(layer, batch), part.backward);
    }
  }
  add("optimizer",
      {2 * cost.optimizer_arrays * cost.parameters(),
       kBytes * cost.optimizer_arrays * cost.parameters()},
      1);
  bound.memory_bound_part = memory_seconds / bound.seconds;
  return bound;
}

Estimate device_ratio(const TrainingCost& cost, const Device& measured, const Device& target,
                      double batch) {
  const double ratio =
      bound_step(cost, target, batch).seconds / bound_step(cost, measured, batch).seconds;
  const double spread = measured.calibrated == target.calibrated ? kRatioSpread : kMixedSpread;
  return {ratio, ratio / spread, ratio * spread};
}

}  // namespace lockstep::predict
