#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/predict/scaling/prior_fit.h"

namespace lockstep::predict {
namespace {

std::string numbers(const std::vector<double>& values) {
  std::string text = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", values[i]);
  }
  return text + "}";
}

std::string evidence_source(const EvidencePrior& prior) {
  std::string weights;
  for (const auto& one : prior.weights) weights += (weights.empty() ? "" : ", ") + numbers(one);
  return fmt::format(
      "      EvidencePrior{{{{{{{}}}}},\n"
      "                    SpreadModel{{{}, {}, {}, {:.6g}, {:.6g}}}, {}}}",
      weights, numbers(prior.spread.center), numbers(prior.spread.scale),
      numbers(prior.spread.coefficient), prior.spread.low_quantile, prior.spread.high_quantile,
      prior.rows);
}

}  // namespace

std::string prior_source(const Prior& prior) {
  std::string text =
      "// Made by tools/fit-prior; do not edit. The fields are in the order of prior.h.\n"
      "#include \"lockstep/predict/scaling/prior.h\"\n\n"
      "namespace lockstep::predict {\n\n"
      "const Prior& shipped_prior() {\n"
      "  static const Prior prior{\n"
      "      {";
  for (std::size_t e = 0; e < prior.evidence.size(); ++e) {
    text += (e == 0 ? "\n" : ",\n") + evidence_source(prior.evidence[e]);
  }
  text += fmt::format(
      "}},\n      InteriorPrior{{{:.6g}, {:.6g}}},\n      \"{}\",\n      {}}};\n"
      "  return prior;\n}}\n\n}}  // namespace lockstep::predict\n",
      prior.interior.low_quantile, prior.interior.high_quantile, prior.provenance,
      numbers({prior.covered.begin(), prior.covered.end()}));
  return text;
}

}  // namespace lockstep::predict
