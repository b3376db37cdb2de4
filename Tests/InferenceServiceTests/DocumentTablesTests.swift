internal import Foundation
internal import HTTPWire
internal import InferenceService
internal import ServiceCore
internal import TestSupport
internal import Testing
internal import WireFormats

/// docs/http-api.md and docs/clients.md have every route and every error code.
@Suite struct DocumentTablesTests {
    private let document: HTTPDocument

    init() throws { document = try HTTPDocument() }

    /// The methods of each path of the table of routes.
    private static let methods = Dictionary(
        uniqueKeysWithValues: Service.routes.resources.filter { $0.dialect == nil }.flatMap { resource in
            resource.templates.map { ($0.text, resource.methods.map(\.method.rawValue)) }
        })

    @Test("the tables of docs/http-api.md have each route with its methods")
    func everyRouteHasItsMethodsInATable() {
        var found: [String: [String]] = [:]
        for row in document.rows where row.count >= 2 {
            let methods = row[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            // The row that refers to a table further down names no methods.
            guard !methods.isEmpty else { continue }
            for path in HTTPDocument.code(in: row[0]) where path.hasPrefix("/") { found[path] = methods }
        }
        #expect(found == Self.methods)
    }

    @Test("docs/http-api.md has each error code with its status, and Retry-After where the answer has it")
    func everyErrorCodeHasItsStatusInTheTable() {
        var found: [String: Int] = [:], retried: Set<String> = []
        for row in document.rows {
            guard let status = row.first.flatMap({ Int($0) }), row.count >= 3 else { continue }
            for code in HTTPDocument.code(in: row[1]) {
                found[code] = status
                if row[2].contains("`Retry-After`") { retried.insert(code) }
            }
        }
        let expected = ErrorCode.allCases.map { ($0.rawValue, $0.status.code) }
        #expect(found == Dictionary(expected) { first, _ in first })
        // Each 429 has a time of its own.
        let timed = ErrorCode.allCases.filter { $0.retryAfter != nil || $0 == .tooManyRequests }
        #expect(retried == Set(timed.map(\.rawValue)))
    }

    /// Answers that no command can cause reliably; the document shows their JSON.
    private static let shown: Set<ErrorCode> = [
        .tooManyRequests, .overloaded, .deadlineExceeded, .shuttingDown, .internal, .engineOutputInvalid, .storageFull,
    ]

    @Test("docs/http-api.md has an example of each route and of each error")
    func everyRouteAndEveryErrorHasAnExample() throws {
        var labels: Set<String> = [], codes: Set<String> = []
        for example in try document.examples() {
            codes.insert(example.code)
            guard let start = example.command.range(of: "localhost:8080") else { continue }
            let path = example.command[start.upperBound...].prefix { !"? '\"".contains($0) }
            if example.code.isEmpty, let match = Service.routes.match(String(path)) {
                labels.insert(match.resource.label)
            }
        }
        #expect(labels == Set(Service.routes.resources.filter { $0.dialect == nil }.map(\.label)))
        for code in ErrorCode.allCases {
            let isShown = document.text.contains("\"code\": \"\(code.rawValue)\"")
            #expect(Self.shown.contains(code) ? isShown : codes.contains(code.rawValue), "\(code)")
        }
    }

    @Test("docs/clients.md lists each route of each dialect")
    func everyRouteOfADialectIsInTheTable() throws {
        let lines = try ClientsDocument().lines
        #expect(lines.count >= 30)
        let asked = lines.flatMap { $0.asks.split(separator: "`").map(String.init) }
        for resource in Service.routes.resources where resource.dialect != nil {
            for template in resource.templates {
                for method in resource.methods {
                    let route = "\(method.method.rawValue) \(template.text)"
                    #expect(asked.contains(route), "\(route) is not in the table")
                }
            }
        }
    }
}
