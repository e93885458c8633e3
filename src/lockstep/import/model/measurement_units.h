#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::import {

/// What a metric measures, which decides the units it may have.
enum class Quantity { kTime, kRate, kFraction, kBandwidth, kPlain, kUnknown };

/// Of a metric by name, also behind "reported_"; kUnknown for metrics lockstep does not compute
/// with.
Quantity quantity_of(std::string_view metric);

/// The unit values of a quantity are kept in: "s", "examples/s", "", "GB/s".
std::string_view canonical_unit(Quantity quantity);

/// Factor from `unit` to the canonical one; nothing when the unit does not fit the quantity.
std::optional<double> unit_factor(Quantity quantity, std::string_view unit);

/// The units that fit, for messages: "s, ms, us, min or h".
std::string_view units_of(Quantity quantity);

}  // namespace lockstep::import
