#include "lockstep/import/scan/ratio.h"

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {

std::optional<Ratio> take_ratio(std::string_view& text) {
  std::string_view rest = text;
  const auto done = take_number(rest);
  if (!done || rest.empty() || rest[0] != '/') return std::nullopt;
  rest.remove_prefix(1);
  const auto of = take_number(rest);
  if (!of || !(*done >= 0 && *done <= 1e12) || !(*of >= 0 && *of <= 1e12)) return std::nullopt;
  text = rest;
  return Ratio{static_cast<std::int64_t>(*done), static_cast<std::int64_t>(*of)};
}

}  // namespace lockstep::import
