# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# For find_package(uvms_adaptive_dynamics) in C++ packages: target of the header-only feedforward.
include(CMakeFindDependencyMacro)
find_dependency(Eigen3)
if(NOT TARGET uvms_adaptive_dynamics::feedforward)
  add_library(uvms_adaptive_dynamics::feedforward INTERFACE IMPORTED)
  get_filename_component(_uvms_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set_target_properties(uvms_adaptive_dynamics::feedforward PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_uvms_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES Eigen3::Eigen)
  unset(_uvms_prefix)
endif()
