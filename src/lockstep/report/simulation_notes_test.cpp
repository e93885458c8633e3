#include "lockstep/report/simulation_notes.h"

#include <gtest/gtest.h>

namespace lockstep::report {
namespace {

/// A step of two workers on one host; 100 ms of it are compute.
simulate::StepSource source_of(double step_s) {
  simulate::StepSource source;
  source.shape.forward_s = 0.04;
  source.shape.backward_s = 0.06;
  source.gradient_bytes = 1e6;
  source.measured = {2, 1, step_s};
  return source;
}

std::string note_of(double step_s, const simulate::Settings& settings) {
  const simulate::StepSource source = source_of(step_s);
  const auto scaling =
      simulate::simulate_scaling(simulate::make_scenario(settings, source), {2, 4}, {});
  return measured_note(scaling, simulation_source(settings, source));
}

TEST(SimulationNotes, ReportAMeasuredStepThatContradictsTheSimulation) {
  const simulate::Settings same{{"per-host", "2"}, {"link", "10Gbit"}, {"wire", ""}};
  EXPECT_EQ(note_of(0.1, same), "");
  EXPECT_NE(note_of(0.2, same).find("2 workers: the run itself took 200 ms per step, above"),
            std::string::npos)
      << note_of(0.2, same);
  EXPECT_NE(note_of(0.05, same).find("below"), std::string::npos);
  EXPECT_EQ(note_of(0, same), "") << "not known";
}

TEST(SimulationNotes, DoNotCompareARunWithOtherWorkersLinksOrSteps) {
  EXPECT_EQ(note_of(0.2, {{"per-host", "1"}}), "") << "on two hosts";
  EXPECT_EQ(note_of(0.2, {{"per-host", "2"}, {"inside", "1GB/s,5us"}}), "");
  EXPECT_EQ(note_of(0.2, {{"per-host", "2"}, {"accumulate", "4"}}), "");
}

}  // namespace
}  // namespace lockstep::report
