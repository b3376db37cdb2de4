/// The counts of one route: requests by method and status, bytes and durations.
package final class RouteMetrics: Sendable {
    /// The methods with their own counts; all others count as `other`.
    static let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "other"]
    /// The statuses of Ocelli's answers. 0 means no answer, because the client had disconnected.
    static let codes = [
        0, 200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 411, 412, 413, 414, 415, 417, 421, 422, 429, 431,
        500, 501, 503, 504, 505, 507,
    ]

    private enum Direction: Int, CaseIterable { case received, sent }

    /// The bytes of each direction, the histogram, then the requests.
    private let numbers = StripedCounters(firstRequests + methods.count * (codes.count + 1))
    private static let firstRequests = Direction.allCases.count + Histogram.size

    /// The time from the request's first byte to the answer's last.
    package var duration: Histogram { Histogram(numbers, at: Direction.allCases.count) }

    /// Counts one request.
    func record(method: String, code: Int, received: Int, sent: Int) {
        let row = Self.methods.firstIndex(of: method) ?? Self.methods.count - 1
        let column = Self.codes.firstIndex(of: code) ?? Self.codes.count
        numbers.add(at: Self.firstRequests + row * (Self.codes.count + 1) + column)
        numbers.add(UInt64(clamping: received), at: Direction.received.rawValue)
        numbers.add(UInt64(clamping: sent), at: Direction.sent.rawValue)
    }

    /// The bytes of the bodies.
    package var bytesReceived: UInt64 { numbers[Direction.received.rawValue] }
    package var bytesSent: UInt64 { numbers[Direction.sent.rawValue] }

    /// The counts above 0. The code is `none` if the client had disconnected, and `other` for a status that is not in
    /// ``codes``.
    package var counts: [(method: String, code: String, count: UInt64)] {
        var result: [(method: String, code: String, count: UInt64)] = []
        for (row, method) in Self.methods.enumerated() {
            for column in 0...Self.codes.count {
                let count = numbers[Self.firstRequests + row * (Self.codes.count + 1) + column]
                guard count > 0 else { continue }
                let code = column < Self.codes.count ? String(Self.codes[column]) : "other"
                result.append((method, code == "0" ? "none" : code, count))
            }
        }
        return result
    }
}
