#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/readers/transcript/line_figures.h"

namespace lockstep::import {

/// "Training loss: ['0.424', '0.209', '0.104']": the values of one figure, printed at once.
struct ValueList {
  LineFigure::Kind kind = LineFigure::Kind::kCell;
  Metric metric = Metric::kOther;
  bool of_epochs = false;  ///< its name says that there is one value per epoch
  std::string name;
  std::vector<double> values;
};

/// The list of a line, where its name is that of a figure of epochs; also one that is no figure of
/// interest (loading times), with Metric::kOther, as it stands beside the others.
std::optional<ValueList> find_value_list(std::string_view text, MetricCache& metrics);

/// Lists that follow each other and have one value per epoch each. Without a name that says so
/// ("epoch time") they may as well be steps, and are not used.
class ValueLists {
 public:
  /// Whether `list` belongs to those before it; otherwise they are to be taken first.
  bool fits(const ValueList& list) const;
  void add(ValueList list) { lists_.push_back(std::move(list)); }
  bool empty() const { return lists_.empty(); }
  /// All of them, where they are certain to be of epochs; leaves none behind.
  std::vector<ValueList> take();

 private:
  std::vector<ValueList> lists_;
};

}  // namespace lockstep::import
