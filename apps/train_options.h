#pragma once

#include <span>
#include <string_view>

#include "lockstep/record/train_request.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// Adds RECIPE and every option of a training run to `command`; parsing writes into `request`,
/// whose present values are the defaults. Numbers out of range and unknown choices throw kUsage
/// with the option's name. `request` must outlive parsing.
/// Options in `without` (long names, or RECIPE) are left out.
void add_train_options(CLI::App& command, record::TrainRequest& request,
                       std::span<const std::string_view> without = {});

/// Checks across options: throws kUsage for combinations that make no sense.
void check_train_request(const record::TrainRequest& request);

}  // namespace lockstep::cli
