import HTTPServer
import Testing

/// Tests of the places beyond the connection limit.
@Suite struct ReservedPlacesTests {
    @Test("connections are closed in this order: answered ones, waiting ones, those without a request; each by age")
    func order() {
        var places = ReservedPlaces()
        for id: Int32 in 1...6 { places.accept(id) }
        places.wait(4)
        places.wait(2)
        places.answer(5)
        places.answer(3)
        #expect(places.count == 6 && places.firstWaiting == 4)
        var order: [Int32] = []
        while let id = places.first {
            order.append(id)
            places.remove(id)
        }
        #expect(order == [5, 3, 4, 2, 1, 6])
        #expect(places.count == 0 && places.firstWaiting == nil)
    }

    @Test("a connection that waits and is answered, or gets an ordinary place, waits no longer")
    func transitions() {
        var places = ReservedPlaces()
        for id: Int32 in 1...3 { places.accept(id) }
        for id: Int32 in 1...3 { places.wait(id) }
        #expect(places.isWaiting(1) && places.isWaiting(3))
        places.answer(1)
        #expect(!places.isWaiting(1) && places.contains(1) && places.firstWaiting == 2)
        places.remove(2)
        #expect(!places.contains(2) && places.firstWaiting == 3)
        // A connection without a reserved place is not put into one.
        places.wait(7)
        places.answer(8)
        #expect(!places.contains(7) && !places.contains(8) && places.count == 2)
        // Answered connections do not return to waiting.
        places.wait(1)
        #expect(!places.isWaiting(1) && places.first == 1)
    }
}
