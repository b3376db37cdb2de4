import HTTPServer
import Testing

/// Tests of the places that connections get.
@Suite struct PlacesTests {
    /// Two ordinary places, two reserved ones, and descriptors up to 999.
    static let limits = Places.Limits(ordinary: 2, reserved: 2, ceiling: 1000)

    @Test(
        "ordinary connections and the process keep their descriptors from the reserved places",
        arguments: [
            // ordinary, reserved, ceiling, the reserved places
            (4096, 4096, .max, 4096), (100, 4096, 1000, 644), (700, 4096, 1000, 125), (4096, 4096, 16, 2),
            (4096, 4096, 4, 1), (100, 10, 1000, 10),
        ] as [(Int, Int, Int32, Int)])
    func limits(ordinary: Int, reserved: Int, ceiling: Int32, expected: Int) {
        #expect(Places.Limits(ordinary: ordinary, reserved: reserved, ceiling: ceiling).reserved == expected)
    }

    @Test("a new connection gets an ordinary place, then one of another, a reserved one, then one of another")
    func order() {
        var places = Places()
        #expect(places.place(for: 10, Self.limits) == .ordinary)
        places.opened(10, isReserved: false)
        #expect(places.place(for: 11, Self.limits) == .ordinary)
        places.opened(11, isReserved: false)
        #expect(places.place(for: 12, Self.limits) == .ordinaryOfAnother)
        #expect(places.place(for: 12, Self.limits, lacksOrdinary: true) == .reserved)
        places.opened(12, isReserved: true)
        #expect(places.ordinary == 2 && places.open == 3 && places.isOverfull(Self.limits))
        places.opened(13, isReserved: true)
        #expect(places.place(for: 14, Self.limits, lacksOrdinary: true) == .reservedOfAnother)
        places.closed(10)
        #expect(!places.isOverfull(Self.limits))
        #expect(places.place(for: 14, Self.limits) == .ordinary)
        places.closed(13)
        #expect(places.place(for: 14, Self.limits, lacksOrdinary: true) == .reserved)
    }

    @Test("descriptors are left for the reserved places, except by the first connection, and for the process")
    func descriptors() {
        var places = Places()
        #expect(places.place(for: 999, Self.limits) == .ordinary)
        #expect(places.place(for: 1000, Self.limits) == .ordinaryOfAnother)
        #expect(places.place(for: 999, Self.limits, lacksOrdinary: true) == .reserved)
        #expect(places.place(for: 1000, Self.limits, lacksOrdinary: true) == .reservedOfAnother)
        places.opened(10, isReserved: false)
        #expect(places.place(for: 997, Self.limits) == .ordinary)
        #expect(places.place(for: 998, Self.limits) == .ordinaryOfAnother)
    }

    @Test("requests that wait for an ordinary place get it before a new connection, in their order")
    func waiting() {
        var places = Places()
        places.opened(1, isReserved: false)
        places.opened(2, isReserved: false)
        places.opened(3, isReserved: true)
        places.opened(4, isReserved: true)
        let isFull = !places.begin(4, 5, Self.limits)
        places.closed(1)
        // There is a place, but another request waits for it already.
        let isBehind = !places.begin(3, 5, Self.limits)
        #expect(isFull && isBehind)
        #expect(places.place(for: 5, Self.limits) == .reservedOfAnother)
        #expect(places.hasRoom(5, Self.limits))
        var given = [places.give()]
        #expect(places.ordinary == 2 && !places.hasRoom(5, Self.limits))
        places.closed(2)
        given += [places.give(), places.give()]
        #expect(given == [4, 3, nil])
    }

    @Test("a request in a reserved place gets an ordinary one at once if there is one")
    func begins() {
        var places = Places()
        places.opened(3, isReserved: true)
        let isOrdinary = places.begin(3, 4, Self.limits)
        #expect(isOrdinary && places.ordinary == 1 && !places.reserved.contains(3))
    }

    @Test("the lowest free descriptor, which costs a system call, is not looked up if all places are taken")
    func lazy() {
        var places = Places()
        var lookups = 0
        func lowest() -> Int32 {
            lookups += 1
            return 5
        }
        places.opened(1, isReserved: false)
        #expect(places.hasRoom(lowest(), Self.limits) && lookups == 1)
        places.opened(2, isReserved: false)
        #expect(!places.hasRoom(lowest(), Self.limits) && lookups == 1)
    }

    @Test("a search in vain is not repeated in a turn, nor within 50 ms for requests that wait")
    func searches() {
        var places = Places()
        #expect(places.maySearch(now: 7))
        places.foundNone(now: 7)
        #expect(!places.maySearch(now: 7) && places.maySearch(now: 8))
        #expect(places.isSearchDue(now: 7))
        places.postpone(now: 7)
        #expect(places.searchAt == 50_000_007)
        places.postpone(now: 50_000_006)
        #expect(places.searchAt == 50_000_007 && !places.isSearchDue(now: 50_000_006))
        #expect(places.isSearchDue(now: 50_000_007))
        places.endRound(next: nil)
        #expect(places.searchAt == nil && places.isSearchDue(now: 0))
    }
}
