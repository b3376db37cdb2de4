import HTTPWire
import InferenceService
internal import ServiceCore
import Testing

/// `traceparent` and `tracestate` by the examples and rules of the W3C recommendation.
@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7"
    private static let parent = "00-\(trace)-\(span)-01"

    private static func context(_ fields: String) throws -> TraceContext? {
        TraceContext(try Requests.head("GET / HTTP/1.1\nHost: x\n" + fields))
    }

    @Test(
        "a valid traceparent is read, also of a later version and with any case of the field name",
        arguments: [
            parent, "00-\(trace)-\(span)-00", "00-\(trace)-\(span)-ff", "01-\(trace)-\(span)-01",
            "cc-\(trace)-\(span)-01-what-a-later-version-adds", "fe-\(trace)-\(span)-01-",
        ])
    func aValidParent_isRead(_ value: String) throws {
        for name in ["traceparent", "Traceparent", "TRACEPARENT"] {
            let found = try #require(try Self.context("\(name): \(value)"))
            #expect(found.traceID == Self.trace && found.parentID == Self.span && found.state == nil)
        }
    }

    @Test(
        "an invalid traceparent is ignored together with its tracestate",
        arguments: [
            "", "00", "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-01.",
            "01-\(trace)-\(span)-01x",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-0g",
            "00-\(trace)-\(span)",
            "0-\(trace)-\(span)-01", "000-\(trace)-\(span)-01", "00_\(trace)_\(span)_01",
            "00-\(trace.dropLast())-\(span)-01",
            "00-\(trace)0-\(span)-01", "0x-\(trace)-\(span)-01", "00-\(trace)-\(span)-é",
        ])
    func anyOther_isIgnored(_ value: String) throws {
        #expect(try Self.context("traceparent: \(value)\ntracestate: a=b") == nil)
    }

    @Test("two traceparent fields, or a tracestate without traceparent, are ignored")
    func twoParents_areIgnored() throws {
        #expect(try Self.context("traceparent: \(Self.parent)\ntraceparent: \(Self.parent)") == nil)
        #expect(try Self.context("tracestate: a=b") == nil)
    }

    @Test(
        "a tracestate list is kept whole if valid, and dropped whole otherwise",
        arguments: [
            (["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"], "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            (["a=1 , b=2", "c=3"], "a=1,b=2,c=3"), (["a=1,,b=2", ""], "a=1,b=2"),
            (["fw529a3039@dt=F"], "fw529a3039@dt=F"),
            (["1a=b"], "1a=b"), (["a*/_-=x y"], "a*/_-=x y"),
            // Not valid: the whole list is dropped.
            (["a=1,a=2"], nil), (["A=1"], nil), (["a=1,b"], nil), (["a="], nil), (["=1"], nil), (["a@b@c=1"], nil),
            (["a@=1"], nil), (["a=b=c"], nil), ([""], nil), (["a=é"], nil),
            ([(0..<33).map { "k\($0)=v" }.joined(separator: ",")], nil),
            (["a=" + String(repeating: "x", count: 257)], nil),
        ] as [([String], String?)])
    func aList_isKeptOrDroppedWhole(_ values: [String], _ expected: String?) throws {
        let lines = values.map { "\ntracestate: \($0)" }.joined()
        let found = try #require(try Self.context("traceparent: \(Self.parent)" + lines))
        #expect(found.state == expected && found.traceID == Self.trace)
    }
}
