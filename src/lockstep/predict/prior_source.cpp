#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/predict/prior_fit.h"

namespace lockstep::predict {
namespace {

std::string numbers(const std::vector<double>& values) {
  std::string text = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", values[i]);
  }
  return text + "}";
}

template <class Enum>
std::string indices(const std::vector<Enum>& values, const char* type) {
  std::string text = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{}({})", i == 0 ? "" : ", ", type, static_cast<int>(values[i]));
  }
  return text + "}";
}

std::string gate_source(const Gate& gate) {
  return fmt::format("Gate{{{}, {}, {}, {}, {}, {}, {:.6g}}}", indices(gate.forms, "Form"),
                     indices(gate.features, "Feature"), numbers(gate.center), numbers(gate.scale),
                     numbers(gate.weight), numbers(gate.bias), gate.own_weight);
}

std::string evidence_source(const EvidencePrior& prior) {
  std::string gates;
  for (const Gate& gate : prior.gates) gates += (gates.empty() ? "" : ", ") + gate_source(gate);
  return fmt::format(
      "      EvidencePrior{{{{{}}},\n"
      "                    SpreadModel{{{}, {}, {}, {:.6g}, {:.6g}}}, {}}}",
      gates, numbers(prior.spread.center), numbers(prior.spread.scale),
      numbers(prior.spread.coefficient), prior.spread.low_quantile, prior.spread.high_quantile,
      prior.rows);
}

}  // namespace

std::string prior_source(const Prior& prior) {
  std::string text =
      "// Made by tools/fit-prior; do not edit. The fields are in the order of prior.h.\n"
      "#include \"lockstep/predict/prior.h\"\n\n"
      "namespace lockstep::predict {\n\n"
      "const Prior& shipped_prior() {\n"
      "  static const Prior prior{\n"
      "      {";
  for (std::size_t e = 0; e < prior.evidence.size(); ++e) {
    text += (e == 0 ? "\n" : ",\n") + evidence_source(prior.evidence[e]);
  }
  text += fmt::format(
      "}},\n      InteriorPrior{{{:.6g}, {:.6g}}},\n      \"{}\"}};\n"
      "  return prior;\n}}\n\n}}  // namespace lockstep::predict\n",
      prior.interior.low_quantile, prior.interior.high_quantile, prior.provenance);
  return text;
}

}  // namespace lockstep::predict
