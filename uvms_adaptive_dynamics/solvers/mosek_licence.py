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

"""MOSEK's response codes about licences, each with a sentence that says what to do."""

from __future__ import annotations

from typing import Any

from ..errors import SolverError

WHERE = ("get one at mosek.com (a trial one, or a free one for academic use) and put the file at "
         "~/mosek/mosek.lic, or its path into the environment variable MOSEKLM_LICENSE_FILE")
NO_LICENCE = f"no usable MOSEK licence was found; {WHERE}"
_SERVER = "check that the server in MOSEKLM_LICENSE_FILE runs and can be reached from this machine"
# By name of mosek.rescode: names are stable between versions, numbers are not.
LICENCE_SENTENCES = {
    "err_missing_license_file": NO_LICENCE,
    "err_file_license": f"the MOSEK licence file cannot be read or is invalid; {WHERE}",
    "err_license_expired": "the MOSEK licence has expired; renew it at mosek.com and replace "
                           "~/mosek/mosek.lic",
    "err_license_version": "the MOSEK licence is for an older version; renew it, or install that "
                           "version",
    "err_license_max": "all tokens of the MOSEK licence are in use; wait for another process to "
                       "end, or get more tokens",
    "err_license_server": f"the MOSEK licence server does not answer or is down; {_SERVER}",
    "err_license_cannot_connect": f"cannot connect to the MOSEK licence server; {_SERVER}",
    "err_license_moseklm_daemon": "the licence daemon MOSEKLM on the server is down; restart it "
                                  "there",
    "err_license_server_version": "the MOSEK licence server is older than MOSEK; update it",
    "err_license_old_server_version": "the MOSEK licence server is older than MOSEK; update it",
    "err_license_no_server_line": "the MOSEK licence file has no SERVER line, which a floating "
                                  "licence needs",
    "err_license_no_server_support": "the MOSEK licence server does not serve this feature; check "
                                     "its licence file",
    "err_license_feature": "the MOSEK licence lacks a feature that is needed (PTS)",
    "err_license_invalid_hostid": "the MOSEK licence is for another machine (its host id differs)",
    "err_license_cannot_allocate": "the MOSEK licence system has run out of memory",
    "err_platform_not_licensed": "the MOSEK licence does not cover this platform",
    "err_optimizer_license": "the MOSEK licence does not cover the conic optimizer",
    "err_prob_license": "the MOSEK licence does not cover conic problems",
    "err_size_license": "the MOSEK licence is limited to smaller problems",
    "err_size_license_con": "the MOSEK licence is limited to fewer constraints",
    "err_size_license_var": "the MOSEK licence is limited to fewer variables",
    "err_size_license_intvar": "the MOSEK licence is limited to fewer integer variables",
    "err_flexlm": "the licence manager of MOSEK (FLEXlm) reported an error",
    "err_license": f"MOSEK's licence was refused; {WHERE}",
}


def solver_error(error: Any) -> SolverError:
    """The SolverError for a mosek.Error, with status 'licence' if that is its cause."""
    sentence = licence_sentence(error.errno)
    if sentence is not None:
        return SolverError(sentence, "licence")
    return SolverError(f"mosek failed: {error.msg} ({error.errno})", "error")


def licence_sentence(code: str) -> str | None:
    """The sentence for the name of a mosek.rescode; None if it is not about the licence."""
    name = str(code).rsplit(".", 1)[-1]
    if name in LICENCE_SENTENCES:
        return LICENCE_SENTENCES[name]
    return LICENCE_SENTENCES["err_license"] if "license" in name else None
