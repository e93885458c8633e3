#include "lockstep/predict/scaling/prior.h"

#include <algorithm>
#include <cmath>

namespace lockstep::predict {
namespace {

/// A form that has been wrong by this much (log) more than another keeps 1/e of its weight.
constexpr double kTrust = 0.03;

/// Errors of series that lost nothing at the last step: of this size (log) per doubling.
constexpr double kUsualChange = 0.05;
/// Shared work that gains little from further workers loses almost half its efficiency per doubling
/// however certain that is: from this loss on, the errors do not grow.
constexpr double kMostSharedLoss = 0.3;
/// Across hosts nothing was measured; the loss inside one indicates less.
constexpr double kLeavingFactor = 1.5;
/// Differences between runs do not vanish when the target comes close.
constexpr double kFewestDoublings = 0.3;

/// Of shared work, from two counts or more.
const std::vector<Form>& forms_of_shared(const Situation& situation) {
  static const std::vector global{Form::kSerial, Form::kShareLast, Form::kErnest};
  static const std::vector slowed{Form::kSerial, Form::kShareLast};
  static const std::vector batches{Form::kShareLast, Form::kShareAll};
  static const std::vector two_runs{Form::kSerial, Form::kPowerLast, Form::kAmdahl};
  static const std::vector runs{Form::kPowerLast, Form::kAmdahl, Form::kShareAll};
  // Ernest's terms are fitted to n times the time here, which is better on series that level off
  // and cannot follow one whose time grows.
  const bool made_slower = situation.last_slope < -std::log(2.0);
  if (situation.split == WorkSplit::kGlobalBatch) return made_slower ? slowed : global;
  if (situation.split == WorkSplit::kBatches) return batches;
  return situation.counts == 2 ? two_runs : runs;
}

}  // namespace

const std::vector<Form>& forms_of(const Situation& situation) {
  // Chosen by leaving out whole sources; docs/internals/prediction-choice.md has what was tried.
  static const std::vector one{Form::kTypicalLoss};
  static const std::vector two{Form::kRing, Form::kPowerLast, Form::kErnest};
  static const std::vector disturbed{Form::kSteady};
  static const std::array<std::vector<Form>, kPlaceCount> more{
      std::vector{Form::kRing, Form::kSerial, Form::kMedianLoss, Form::kErnest},
      std::vector{Form::kSerial, Form::kAmdahl},
      std::vector{Form::kSteady, Form::kRing, Form::kMedianLoss},
      std::vector{Form::kSteady, Form::kRing, Form::kSerial, Form::kMedianLoss, Form::kErnest}};
  switch (situation.evidence) {
    case Evidence::kOneCount:
      return one;
    case Evidence::kTwoCounts:
      return two;
    case Evidence::kSharedWork:
      return forms_of_shared(situation);
    case Evidence::kMoreCounts:
      break;
  }
  return situation.sudden_loss ? disturbed : more[static_cast<std::size_t>(situation.place)];
}

Mixture mix(const Situation& situation) {
  Mixture mixture{forms_of(situation), {}, 0};
  const auto error = [&](Form form) {
    return situation.own_errors[static_cast<std::size_t>(form)];
  };
  double least = error(mixture.forms.front());
  for (const Form form : mixture.forms) least = std::min(least, error(form));
  double total = 0;
  for (const Form form : mixture.forms) {
    mixture.weights.push_back(std::exp((least - error(form)) / kTrust));
    total += mixture.weights.back();
  }
  for (std::size_t f = 0; f < mixture.forms.size(); ++f) {
    mixture.weights[f] /= total;
    mixture.change += mixture.weights[f] * situation.form(mixture.forms[f]);
  }
  return mixture;
}

double spread_scale(const Situation& situation) {
  const double doublings = std::max(situation.doublings, kFewestDoublings);
  if (situation.evidence == Evidence::kOneCount) return doublings;
  const double leaving = situation.place == Place::kLeaving ? kLeavingFactor : 1;
  double loss = std::fabs(situation.last_slope);
  if (situation.evidence == Evidence::kSharedWork) loss = std::min(loss, kMostSharedLoss);
  return leaving * (kUsualChange + loss) * doublings;
}

}  // namespace lockstep::predict
