internal import FoundationEssentials
internal import HTTPServer
internal import HTTPWire
internal import JSON
internal import Teaching
internal import WireFormats

/// Writes taught models in the form of answers (docs/http-api.md, "Taught models").
struct TaughtWriter {
    /// A picture of a request that could not be used.
    struct Failure {
        /// The picture's number in the form, from 1.
        let part: Int
        let error: ServiceError
    }

    /// The members that a request with examples adds to the answer.
    struct Addition {
        let outcomes: [TaughtModel.Outcome]
        let failures: [Failure]
    }

    static func json(_ status: HTTPStatus, _ write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 1024)
        write(&writer)
        return HTTPResponse(status: status, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    /// Writes one taught model as an object.
    static func write(
        _ name: String, _ view: TaughtView, _ condition: TaughtCondition, _ addition: Addition? = nil,
        to writer: inout JSONWriter
    ) {
        let state = view.state
        writer.object { writer in
            writer.member("name", name)
            writer.key("embedder")
            writer.object { writer in
                writer.member("model", state.embedder.model)
                writer.member("version", state.embedder.version)
                writer.member("digest", state.embedder.digest)
            }
            writer.member("dimension", state.dimension)
            writer.member("method", state.choice.name)
            if let falseAlarms = state.choice.falseAlarms { member("false_alarms", falseAlarms, to: &writer) }
            if let grid = state.grid {
                writer.key("patches")
                writer.object { writer in
                    writer.member("rows", grid.rows)
                    writer.member("columns", grid.columns)
                }
            }
            writer.key("version")
            if state.served != nil { writer.string(String(state.serving)) } else { writer.null() }
            writer.key("versions")
            writer.array { writer in for version in state.versions { write(version, to: &writer) } }
            writer.key("state")
            if let name = condition.name { writer.string(name) } else { writer.null() }
            if case .stale(let reason) = condition { writer.member("reason", reason) }
            writer.key("classes")
            writer.array { writer in write(view.classes, view.evaluated?.evaluation, to: &writer) }
            writer.member("evaluating", view.isEvaluating)
            writer.key("evaluation")
            write(view.evaluated, to: &writer)
            if let addition { write(addition, to: &writer) }
        }
    }

    private static func write(_ version: TaughtVersion, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("version", String(version.number))
            writer.member("examples", version.examples)
            writer.member("method", version.method.rawValue)
            writer.key("evaluation")
            write(version.evaluation == nil ? nil : version, to: &writer)
        }
    }

    private static func write(
        _ classes: [(label: String, examples: Int)], _ evaluation: Evaluation?, to writer: inout JSONWriter
    ) {
        let results = Dictionary((evaluation?.classes ?? []).map { ($0.label, $0) }) { first, _ in first }
        for (label, examples) in classes {
            writer.object { writer in
                writer.member("label", label)
                writer.member("examples", examples)
                member("accuracy", results[label]?.accuracy, to: &writer)
            }
        }
    }

    /// Writes the evaluation of a version; null if it has none.
    private static func write(_ version: TaughtVersion?, to writer: inout JSONWriter) {
        guard let version, let evaluation = version.evaluation else { return writer.null() }
        writer.object { writer in
            writer.member("version", String(version.number))
            writer.member("by", evaluation.kind.rawValue)
            writer.member("method", evaluation.method.rawValue)
            writer.member("examples", evaluation.examples)
            writer.key("correct")
            // With one class no answer is wrong.
            if evaluation.leftOut == nil { writer.integer(evaluation.correct) } else { writer.null() }
            member("accuracy", evaluation.accuracy, to: &writer)
            writer.key("interval")
            if let (low, high) = evaluation.interval {
                writer.array { writer in for bound in [low, high] { writer.number(bound) } }
            } else {
                writer.null()
            }
            writer.key("confusions")
            writer.array { writer in
                for confusion in evaluation.confusions {
                    writer.object { writer in
                        writer.member("label", confusion.label)
                        writer.member("as", confusion.answer)
                        writer.member("count", confusion.count)
                    }
                }
            }
            writer.key("threshold")
            if let leftOut = evaluation.leftOut, let threshold = leftOut.threshold {
                writer.number(threshold)
            } else if let threshold = evaluation.threshold {
                writer.number(threshold)
            } else {
                writer.null()
            }
            writer.key("advice")
            if let advice = evaluation.advice { writer.string(advice) } else { writer.null() }
        }
    }

    private static func write(_ addition: Addition, to writer: inout JSONWriter) {
        writer.key("added")
        writer.array { writer in
            for outcome in addition.outcomes {
                writer.object { writer in
                    writer.member("id", outcome.id.description)
                    writer.member("label", outcome.label)
                    writer.member("new", outcome.isNew)
                    if outcome.isMoved { writer.member("moved", true) }
                }
            }
        }
        guard !addition.failures.isEmpty else { return }
        writer.key("errors")
        writer.array { writer in
            for failure in addition.failures {
                writer.object { writer in
                    writer.member("error", "part \(failure.part): \(failure.error.message)")
                    writer.member("code", failure.error.code.rawValue)
                    writer.member("part", failure.part)
                }
            }
        }
    }

    /// Writes a page of examples, for `GET .../examples`.
    static func write(_ page: ExampleList.Page, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("examples")
            writer.array { writer in
                for example in page.examples {
                    writer.object { writer in
                        writer.member("id", example.id.description)
                        writer.member("label", example.label)
                        let time = Date(timeIntervalSince1970: Double(example.added))
                        writer.member("added", time.formatted(.iso8601))
                        member("name", example.name, to: &writer)
                    }
                }
            }
            writer.key("next")
            if let next = page.next { writer.string(next.description) } else { writer.null() }
        }
    }

    /// Writes the nearest examples, for `POST .../search`.
    static func write(_ found: [ExampleSearch.Found], to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("examples")
            writer.array { writer in
                for example in found {
                    writer.object { writer in
                        writer.member("id", example.id.description)
                        writer.member("label", example.label)
                        member("name", example.name, to: &writer)
                        member("similarity", example.similarity, to: &writer)
                    }
                }
            }
        }
    }

    private static func member(_ name: String, _ value: String?, to writer: inout JSONWriter) {
        writer.key(name)
        if let value { writer.string(value) } else { writer.null() }
    }

    private static func member(_ name: String, _ value: Double?, to writer: inout JSONWriter) {
        writer.key(name)
        if let value { writer.number(value) } else { writer.null() }
    }
}
