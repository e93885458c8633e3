#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/predict/scaling/prior_fit.h"

namespace lockstep::predict {
namespace {

std::string spread_source(const SpreadPrior& spread) {
  return fmt::format("SpreadPrior{{{:.6g}, {:.6g}, {}}}", spread.low_quantile, spread.high_quantile,
                     spread.rows);
}

}  // namespace

std::string prior_source(const Prior& prior) {
  return fmt::format(
      "// Made by tools/fit-prior; do not edit. The fields are in the order of prior.h.\n"
      "#include \"lockstep/predict/scaling/prior.h\"\n\n"
      "namespace lockstep::predict {{\n\n"
      "const Prior& shipped_prior() {{\n"
      "  static const Prior prior{{\n"
      "      {},\n      {},\n      {},\n"
      "      InteriorPrior{{{:.6g}, {:.6g}}},\n      \"{}\",\n      {{{:.6g}}}}};\n"
      "  return prior;\n}}\n\n}}  // namespace lockstep::predict\n",
      spread_source(prior.one_count), spread_source(prior.more_counts),
      spread_source(prior.shared_work), prior.interior.low_quantile, prior.interior.high_quantile,
      prior.provenance, fmt::join(prior.covered, ", "));
}

}  // namespace lockstep::predict
