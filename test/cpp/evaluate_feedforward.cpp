// Copyright 2026 uvms_adaptive_dynamics developers
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Evaluates the header for test_feedforward_header.py: a question per line of standard input, the
// numbers of its answer on one line.
#include <iostream>
#include <sstream>
#include <string>

#include "uvms_adaptive_dynamics/feedforward.hpp"

namespace uad = uvms_adaptive_dynamics;

namespace {

template <int N>
Eigen::Matrix<double, N, 1> read(std::istream &in) {
  Eigen::Matrix<double, N, 1> x;
  for (double &value : x) {
    in >> value;
  }
  return x;
}

Eigen::VectorXd read(std::istream &in, Eigen::Index n) {
  Eigen::VectorXd x(n);
  for (double &value : x) {
    in >> value;
  }
  return x;
}

template <typename Matrix>
void write(const Matrix &values) {
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < values.cols(); ++j) {
      std::cout << values(i, j) << ' ';
    }
  }
}

// nu, nu_dot, down, then 27 of "name value" in any order -> Y_v and tau_v
void vehicle(std::istream &in) {
  const auto nu = read<6>(in), nu_dot = read<6>(in);
  const auto down = read<3>(in);
  std::vector<std::string> names;
  std::vector<double> values;
  std::string name;
  double value = 0.0;
  while (in >> name >> value) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto pi = uad::vehicle_parameters(names, values);
  write(uad::vehicle_regressor(nu, nu_dot, down));
  write(uad::vehicle_feedforward(pi, nu, nu_dot, down));
}

// n, mount xyz rpy, n times (xyz rpy axis prismatic), mu mu_dot mu_ddot, down, nu, nu_dot, gravity
// -> wrench rows and joint rows
void arm(std::istream &in) {
  Eigen::Index n = 0;
  in >> n;
  const auto xyz = read<3>(in), rpy = read<3>(in);
  uad::Placement carrier = uad::Placement::mount(xyz, rpy);
  std::vector<uad::Joint> chain;
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto at = read<3>(in), turned = read<3>(in), axis = read<3>(in);
    bool prismatic = false;
    in >> prismatic;
    chain.push_back({carrier * uad::Placement::from_urdf(at, turned), axis, prismatic});
    carrier = uad::Placement();
  }
  const auto mu = read(in, n), mu_dot = read(in, n), mu_ddot = read(in, n);
  const auto down = read<3>(in);
  const auto nu = read<6>(in), nu_dot = read<6>(in);
  const double gravity = read<1>(in)[0];
  const auto found = uad::arm_regressor(chain, mu, mu_dot, mu_ddot, down, nu, nu_dot, gravity);
  write(found.wrench);
  write(found.joints);
}

}  // namespace

int main() {
  std::cout.precision(17);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    try {
      kind == "arm" ? arm(in) : vehicle(in);
    } catch (const std::invalid_argument &error) {
      std::cout << error.what();
    }
    std::cout << '\n';
  }
}
