#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/devices/device_table.h"
#include "lockstep/predict/devices/network_cost.h"
#include "lockstep/predict/job_prediction.h"

namespace lockstep::predict {

/// Lower bound of one layer's time within a training step on one device, and what bounds it.
struct LayerTime {
  std::string name;
  double seconds = 0;
  bool memory_bound = false;
};

struct StepTimeBound {
  double seconds = 0;
  double memory_bound_part = 0;  ///< of the seconds
  std::vector<LayerTime> layers;
};

/// Roofline (Williams 2009) layer by layer: each pass of a layer takes the longer of its arithmetic
/// at the sustained rate and its traffic at the memory bandwidth (FP32 activations and weights,
/// each read or written once a pass), then the optimizer's traffic. Kernel launches are not in it:
/// small batches are slower.
StepTimeBound bound_step(const TrainingCost& cost, const Device& device, double batch);

/// Time on `target` over time on `measured`, from the two bounds, with the interval that such
/// ratios have shown (a factor of 1.35 either way; rooflines know no library and no host). Between
/// a calibrated processor and a data sheet it is a factor of 2.
Estimate device_ratio(const TrainingCost& cost, const Device& measured, const Device& target,
                      double batch);

}  // namespace lockstep::predict
