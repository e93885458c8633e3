#include "lockstep/record/calibration.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

template <class Visitor, class P>
static void visit_point(Visitor&& field, P& point) {
  field("bytes", point.bytes);
  field("seconds", point.seconds);
  field("rounds", point.rounds);
}

template <class Visitor, class L>
static void visit_link(Visitor&& field, L& link) {
  field("machine", link.machine);
  field("backend", link.backend);
  field("workers", link.workers);
  field("nodes", link.nodes);
  field("alpha_s", link.alpha_s);
  field("bytes_per_s", link.bytes_per_s);
  field("spread", link.spread);
  field("peak_bus_per_s", link.peak_bus_per_s);
  field("measured_wall_ns", link.measured_wall_ns);
  field("points", link.points);
}

template <class Visitor, class D>
static void visit_device(Visitor&& field, D& device) {
  field("machine", device.machine);
  field("device", device.device);
  field("threads", device.threads);
  field("flops", device.flops);
  field("bytes_per_s", device.bytes_per_s);
  field("gemm", device.gemm);
  field("measured_wall_ns", device.measured_wall_ns);
}

void to_json(nlohmann::json& json, const CollectivePoint& p) {
  visit_point(FieldWriter{json}, p);
}
void from_json(const nlohmann::json& json, CollectivePoint& p) {
  visit_point(FieldReader{json}, p);
}
void to_json(nlohmann::json& json, const LinkCalibration& l) {
  visit_link(FieldWriter{json}, l);
}
void from_json(const nlohmann::json& json, LinkCalibration& l) {
  visit_link(FieldReader{json}, l);
}
void to_json(nlohmann::json& json, const DeviceCalibration& d) {
  visit_device(FieldWriter{json}, d);
}
void from_json(const nlohmann::json& json, DeviceCalibration& d) {
  visit_device(FieldReader{json}, d);
}

}  // namespace lockstep::record
