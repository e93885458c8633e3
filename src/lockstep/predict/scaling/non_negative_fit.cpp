#include "lockstep/predict/scaling/non_negative_fit.h"

#include <Eigen/Dense>
#include <vector>

namespace lockstep::predict {

Eigen::VectorXd non_negative_fit(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  const int columns = static_cast<int>(a.cols());
  Eigen::VectorXd best = Eigen::VectorXd::Zero(columns);
  double least = b.squaredNorm() + 1;
  for (int set = 1; set < (1 << columns); ++set) {
    std::vector<int> chosen;
    for (int c = 0; c < columns; ++c) {
      if ((set >> c & 1) != 0) chosen.push_back(c);
    }
    if (static_cast<Eigen::Index>(chosen.size()) > a.rows()) continue;
    Eigen::MatrixXd part(a.rows(), static_cast<Eigen::Index>(chosen.size()));
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      part.col(static_cast<Eigen::Index>(c)) = a.col(chosen[c]);
    }
    const auto solver = part.colPivHouseholderQr();
    if (solver.rank() < part.cols()) continue;
    const Eigen::VectorXd solution = solver.solve(b);
    const double residual = (part * solution - b).squaredNorm();
    if (solution.minCoeff() < -1e-12 || residual >= least - 1e-14) continue;
    least = residual;
    best.setZero();
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      best(chosen[c]) = solution(static_cast<Eigen::Index>(c));
    }
  }
  return best;
}

}  // namespace lockstep::predict
