internal import WireFormats

/// Writes a client in Python that needs only the standard library: one module, typed for `mypy --strict`, for Python
/// 3.9 and later.
struct PythonClient {
    private let plan: ClientPlan
    private var type: String { plan.type }
    private var names: ClientNames { plan.names }

    init(_ plan: ClientPlan) { self.plan = plan }

    var text: String {
        [head, input, output, labels, error, client, wire].filter { !$0.isEmpty }.joined(separator: "\n\n\n") + "\n"
    }

    private var head: String {
        let lines = ClientHeader(plan).lines.map { $0.isEmpty ? "#" : "# " + $0 }
        let exported =
            [type, type + "Input", type + "Output", type + "Error"] + (plan.cases == nil ? [] : [type + "Label"])
            + (hasTensors ? ["Tensor"] : [])
        return
            (lines + [
                "from __future__ import annotations", "", "import base64 as _base64",
                "import dataclasses as _dataclasses",
                "import enum as _enum", "import http.client as _http", "import json as _json",
                "import typing as _t", "import urllib.parse as _parse", "",
                "__all__ = [\(exported.map(names.literal).joined(separator: ", "))]",
            ]).joined(separator: "\n")
    }

    // MARK: Inputs

    private var input: String {
        let members = plan.inputs.map { member in
            let type = Self.inputType(of: member.feature.form)
            return "    # \(ClientNames.comment(member.feature.tensor)).\n    \(member.name): "
                + (member.feature.isOptional ? "_t.Optional[\(type)] = None" : type)
        }
        return """
            @_dataclasses.dataclass(frozen=True)
            class \(type)Input:
                \(names.literal("The inputs of \(type)."))

            \(members.joined(separator: "\n"))
            """
    }

    private static func inputType(of form: ModelInterface.Form) -> String {
        switch form {
        case .dictionary(let hasIntegerKeys): "_t.Mapping[\(hasIntegerKeys ? "int" : "str"), float]"
        case .array(let element, let extents):
            String(repeating: "_t.Sequence[", count: extents.count) + type(of: element)
                + String(repeating: "]", count: extents.count)
        default: type(of: form)
        }
    }

    private static func type(of form: ModelInterface.Form) -> String {
        switch form {
        case .number: "float"
        case .integer: "int"
        case .flag: "bool"
        case .text: "str"
        case .picture, .bytes: "bytes"
        case .depth: "DepthMap"
        case .dictionary(let hasIntegerKeys): "dict[\(hasIntegerKeys ? "int" : "str"), float]"
        case .rows: "list[dict[str, float]]"
        case .tensors(let element): "list[Tensor[\(type(of: element))]]"
        case .array(let element, let extents):
            String(repeating: "list[", count: extents.count) + type(of: element)
                + String(repeating: "]", count: extents.count)
        }
    }

    // MARK: Outputs

    /// True if an output is a sequence of tensors.
    private var hasTensors: Bool {
        if case .predict(let members) = plan.call { members.contains(where: \.isTensors) } else { false }
    }

    private var output: String {
        switch plan.call {
        case .predict(let members): outputs(members)
        case .task(let answer): PythonAnswers(plan).types(of: answer)
        }
    }

    private func outputs(_ members: [ClientPlan.Member]) -> String {
        var lines: [String] = []
        if members.contains(where: { $0.feature.form == .depth }) {
            lines += [
                "@_dataclasses.dataclass(frozen=True)", "class DepthMap:",
                "    \"A depth for each pixel of the picture: minimum + (maximum - minimum) * value / 65535.\"", "",
                "    # The values, a PNG of 16 bits.", "    png: bytes", "    minimum: float", "    maximum: float", "",
                "",
            ]
        }
        if hasTensors {
            lines += [
                "_Element = _t.TypeVar(\"_Element\")", "", "",
                "@_dataclasses.dataclass(frozen=True)", "class Tensor(_t.Generic[_Element]):",
                "    \"A tensor of any shape.\"", "", "    shape: tuple[int, ...]",
                "    # The elements in row-major order.", "    values: list[_Element]", "", "",
            ]
        }
        lines += [
            "@_dataclasses.dataclass(frozen=True)", "class \(type)Output:",
            "    \(names.literal("The outputs of \(type)."))", "",
        ]
        for member in members {
            let type = Self.type(of: member.feature.form)
            lines.append("    # \(ClientNames.comment(member.feature.tensor)).")
            lines.append("    \(member.name): " + (member.feature.isOptional ? "_t.Optional[\(type)]" : type))
        }
        if let scores = plan.scores { lines += Self.labels(of: scores) }
        if plan.cases != nil, plan.scores?.feature.form == .rows {
            if !members.contains(where: { $0.name == "classLabelCases" }) {
                lines += [
                    "", "    @property", "    def classLabelCases(self) -> list[_t.Optional[\(type)Label]]:",
                    "        \"The labels as members of the enum; None if the model has been given other labels since.\"",
                    "        known = {case.value: case for case in \(type)Label}",
                    "        return [known.get(label) for label in self.classLabels]",
                ]
            }
        } else if plan.cases != nil, !members.contains(where: { $0.name == "classLabelCase" }) {
            lines += Self.labelCase(of: plan.label?.name ?? "classLabel", named: "classLabelCase", type)
        }
        return lines.joined(separator: "\n")
    }

    /// The best label of scores, or of each row of them.
    private static func labels(of scores: ClientPlan.Member) -> [String] {
        if scores.feature.form == .rows {
            return [
                "", "    @property", "    def classLabels(self) -> list[str]:",
                "        \"The label with the greatest number, for each row; empty without labels.\"",
                "        rows = [{key: row[key] for key in row if row[key] == row[key]} for row in self.\(scores.name)]",
                "        return [min(row, key=lambda key: (-row[key], key)) if row else \"\" for row in rows]",
            ]
        }
        return [
            "", "    @property", "    def classLabel(self) -> str:",
            "        \"The label with the greatest number; empty without labels.\"",
            "        scores = {key: number for key, number in self.\(scores.name).items() if number == number}",
            "        return min(scores, key=lambda label: (-scores[label], label)) if scores else \"\"",
            "", "    @property", "    def classLabelProbs(self) -> dict[str, float]:",
            "        \"The number of each label.\"", "        return self.\(scores.name)",
        ]
    }

    /// A property with the case of a label.
    static func labelCase(of member: String, named name: String, _ type: String) -> [String] {
        [
            "", "    @property", "    def \(name)(self) -> _t.Optional[\(type)Label]:",
            "        \"The label as a member of the enum; None if the model has been given other labels since.\"",
            "        try:", "            return \(type)Label(self.\(member))", "        except ValueError:",
            "            return None",
        ]
    }

    private var labels: String {
        guard let cases = plan.cases else { return "" }
        let lines = cases.map { "    \($0.name) = \(names.literal($0.text))" }
        return """
            class \(type)Label(_enum.Enum):
                \(names.literal("The labels of \(type)."))

            \(lines.joined(separator: "\n"))
            """
    }

    private var error: String {
        """
        class \(type)Error(Exception):
            "An answer of the server that is an error."

            def __init__(
                self,
                status: int,
                code: str,
                message: str,
                request_id: _t.Optional[str] = None,
                retry_after: _t.Optional[float] = None,
            ) -> None:
                super().__init__(status, code, message, request_id, retry_after)
                # The HTTP status.
                self.status = status
                # The kind of error, such as invalid_image; invalid_answer if the answer is not the model's.
                self.code = code
                # A sentence for people.
                self.message = message
                # The identifier of the request in the server's log.
                self.request_id = request_id
                # The seconds to wait before another attempt, if the server says so.
                self.retry_after = retry_after

            def __str__(self) -> str:
                return f"{self.status} {self.code}: {self.message}"
        """
    }

    // MARK: The client

    private var client: String {
        let fixed = plan.query.map { "\(names.literal($0.name)): \(names.literal($0.value))" }.joined(separator: ", ")
        let contents = plan.picture == nil ? "application/json" : "application/octet-stream"
        return """
            class \(type):
                "The model on a server. May be used by several threads."

                def __init__(
                    self,
                    url: str,
                    *,
                    token: _t.Optional[str] = None,
                    timeout: float = 60.0,
                    model: str = \(names.literal(plan.model.name)),
                ) -> None:
                    \"""
                    url: the server's address, such as http://127.0.0.1:8080, or https with a path of a proxy.
                    token: the bearer token, if the server asks for one.
                    timeout: the most seconds to wait for the connection and for each part of the answer.
                    model: the name under which the model is served.
                    \"""
                    parts = _parse.urlsplit(url)
                    if parts.scheme not in ("http", "https") or not parts.hostname:
                        raise ValueError(f"expected an address that begins with http:// or https://, found {url!r}")
                    self._secure = parts.scheme == "https"
                    self._host = parts.hostname
                    self._port = parts.port
                    self._path = parts.path.rstrip("/") + "/v1/models/" + _parse.quote(model, safe="") + "/\(plan.route)"
                    self._token = token
                    self._timeout = timeout

                def prediction(
                    self, input: \(type)Input, query: _t.Optional[_t.Mapping[str, str]] = None
                ) -> \(type)Output:
                    \"""
                    Runs the model. `query`: parameters of the route, such as {"timeout_ms": "500"}.
                    Raises \(type)Error for an answer that is an error, OSError (ConnectionError, TimeoutError) if there is none.
                    \"""
                    parameters: dict[str, str] = {\(fixed)}
                    parameters.update(query or {})
                    path = self._path + ("?" + _parse.urlencode(parameters, quote_via=_parse.quote) if parameters else "")
                    headers = {"Content-Type": "\(contents)"}
                    if self._token is not None:
                        headers["Authorization"] = "Bearer " + self._token
            \(body)
                    connection = (_http.HTTPSConnection if self._secure else _http.HTTPConnection)(
                        self._host, self._port, timeout=self._timeout
                    )
                    try:
                        try:
                            connection.request("POST", path, body, headers)
                        except (BrokenPipeError, ConnectionResetError):
                            # The server may have answered before it has read everything.
                            pass
                        response = connection.getresponse()
                        data = response.read()
                        request_id, retry_after = response.getheader("X-Request-ID"), response.getheader("Retry-After")
                    finally:
                        connection.close()
                    try:
                        answer = _json.loads(data)
                    except ValueError:
                        answer = None
                    if response.status != 200:
                        failure: dict[str, object] = answer if isinstance(answer, dict) else {}
                        raise \(type)Error(
                            response.status,
                            str(failure.get("code", f"http_{response.status}")),
                            str(failure.get("error", data[:500].decode("utf-8", "replace"))),
                            request_id,
                            _seconds(retry_after),
                        )
                    try:
                        return _output(answer)
                    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                        raise \(type)Error(
                            response.status, "invalid_answer", f"the answer is not that of the model: {error!r}", request_id
                        ) from error
            """
    }

    private var body: String {
        if let picture = plan.picture { return "        body = input.\(picture.name)" }
        var lines = ["        inputs: dict[str, object] = {}"]
        for member in plan.inputs {
            let line = "inputs[\(names.literal(member.feature.name))] = _value(input.\(member.name))"
            if member.feature.isOptional { lines.append("        if input.\(member.name) is not None:") }
            lines.append((member.feature.isOptional ? "            " : "        ") + line)
        }
        lines.append("        body = _json.dumps({\"inputs\": inputs}, allow_nan=False).encode()")
        return lines.joined(separator: "\n")
    }

    // MARK: The wire

    private var wire: String {
        var parts = [Self.seconds]
        if plan.picture == nil { parts.append(Self.value) }
        switch plan.call {
        case .predict(let members): parts += predicted(members)
        case .task(let answer): parts.append(PythonAnswers(plan).reader(of: answer))
        }
        let text = parts.joined(separator: "\n\n\n")
        let used = Self.readers.filter {
            text.contains("_\($0.name)(") || text.contains(", _\($0.name))")
                || $0.needs.contains { text.contains("_\($0)(") }
        }
        return (used.map(\.text) + [text]).joined(separator: "\n\n\n")
    }

    private static let seconds = """
        def _seconds(text: _t.Optional[str]) -> _t.Optional[float]:
            try:
                return None if text is None else float(text)
            except ValueError:
                return None
        """

    private static let value = """
        def _value(value: _t.Any) -> object:
            # Not a number is a missing value.
            if isinstance(value, float):
                return None if value != value else value
            if isinstance(value, (bool, int, str)):
                return value
            if isinstance(value, (bytes, bytearray, memoryview)):
                return {"b64": _base64.b64encode(value).decode()}
            if isinstance(value, _t.Mapping):
                return {str(key): _value(number) for key, number in value.items()}
            return [_value(element) for element in value]
        """

    private func predicted(_ members: [ClientPlan.Member]) -> [String] {
        let values = members.map { member -> String in
            let value = "outputs[\(names.literal(member.feature.name))]"
            let read = read(value, member.feature.form)
            return "        " + (member.feature.isOptional ? "None if \(value) is None else \(read)," : "\(read),")
        }
        return [
            """
            def _output(answer: _t.Any) -> \(type)Output:
                outputs = answer["outputs"]
                return \(type)Output(
            \(values.joined(separator: "\n"))
                )
            """
        ]
    }

    private func read(_ value: String, _ form: ModelInterface.Form) -> String {
        if case .tensors(let element) = form {
            return "[_tensor(e, \(reader(of: element))) for e in _list(\(value))]"
        }
        let (element, depth) = form.elements
        let name =
            switch element {
            case .picture, .bytes: "_file"
            case .depth: "_depth"
            case .dictionary(true): "_keyed"
            case .rows: "_rows"
            default: reader(of: element)
            }
        // `[[_number(c) for c in b] for b in _list(a)]`
        func nested(_ value: String, _ level: Int) -> String {
            guard level < depth else { return "\(name)(\(value))" }
            return "[\(nested("e\(level)", level + 1)) for e\(level) in _list(\(value))]"
        }
        return nested(value, 0)
    }

    /// The function that reads a value without parts, or numbers by key.
    private func reader(of element: ModelInterface.Form) -> String {
        switch element {
        case .number: "_number"
        case .integer: "_integer"
        case .flag: "_flag"
        case .text: "_text"
        default: "_numbers"
        }
    }

    /// The functions that read values, each with the functions that call it.
    private static let readers: [(name: String, needs: [String], text: String)] = [
        (
            "number", ["numbers", "keyed", "rows", "depth"],
            """
            def _number(value: _t.Any) -> float:
                # null is not a number.
                if value is None:
                    return float("nan")
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    raise TypeError(f"expected a number, found {value!r:.100}")
                return float(value)
            """
        ),
        (
            "integer", [],
            """
            def _integer(value: _t.Any) -> int:
                if isinstance(value, bool) or not isinstance(value, int):
                    raise TypeError(f"expected an integer, found {value!r:.100}")
                return value
            """
        ),
        (
            "flag", [],
            """
            def _flag(value: _t.Any) -> bool:
                if not isinstance(value, bool):
                    raise TypeError(f"expected true or false, found {value!r:.100}")
                return value
            """
        ),
        (
            "text", [],
            """
            def _text(value: _t.Any) -> str:
                if not isinstance(value, str):
                    raise TypeError(f"expected text, found {value!r:.100}")
                return value
            """
        ),
        (
            "list", [],
            """
            def _list(value: _t.Any) -> list[_t.Any]:
                if not isinstance(value, list):
                    raise TypeError(f"expected a list, found {value!r:.100}")
                return value
            """
        ),
        (
            "depth", [],
            """
            def _depth(value: _t.Any) -> DepthMap:
                return DepthMap(_file(value), _number(value["min"]), _number(value["max"]))
            """
        ),
        (
            "file", ["depth"],
            """
            def _file(value: _t.Any) -> bytes:
                return _base64.b64decode(value["b64"], validate=True)
            """
        ),
        (
            "numbers", ["rows"],
            """
            def _numbers(value: _t.Any) -> dict[str, float]:
                return {key: _number(number) for key, number in value.items()}
            """
        ),
        (
            "rows", [],
            """
            def _rows(value: _t.Any) -> list[dict[str, float]]:
                # The object of a single row has no list around it.
                return [_numbers(row) for row in (value if isinstance(value, list) else [value])]
            """
        ),
        (
            "tensor", [],
            """
            def _tensor(value: _t.Any, read: _t.Callable[[_t.Any], _Element]) -> Tensor[_Element]:
                if not isinstance(value, list):
                    return Tensor((), [read(value)])
                if not any(isinstance(part, list) for part in value):
                    return Tensor((len(value),), [read(part) for part in value])
                parts = [_tensor(part, read) for part in value]
                inner = parts[0].shape
                if any(part.shape != inner for part in parts):
                    raise ValueError("expected lists of one length")
                return Tensor((len(parts), *inner), [element for part in parts for element in part.values])
            """
        ),
        (
            "keyed", [],
            """
            def _keyed(value: _t.Any) -> dict[int, float]:
                return {int(key): _number(number) for key, number in value.items()}
            """
        ),
    ]
}
