#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// PyTorch Lightning's metrics.csv and other CSV files with an epoch or step column and one column
/// a metric (Keras' CSVLogger): sparse rows are put together by epoch.
std::unique_ptr<Reader> make_lightning_csv_reader();

}  // namespace lockstep::import
