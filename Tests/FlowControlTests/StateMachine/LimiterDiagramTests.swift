import FlowControl
import Testing

/// The limiter's behavior over time as diagrams, in the notation of `Diagram`.
@Suite struct LimiterDiagramTests {
    private func check(_ bench: Bench, _ text: String) {
        let diagram = Diagram(text)
        let played = diagram.played(on: bench)
        #expect(played == diagram.text)
    }

    @Test("waiters get slots in order of arrival")
    func theQueueIsFirstInFirstOut() {
        check(
            Bench(limit: 1, queue: 3),
            """
            arrive      [abcd]-----
            finish      -abcd
            granted     abcd-
            """)
    }

    @Test("several slots serve a single queue in order of arrival")
    func severalSlotsServeOneQueue() {
        check(
            Bench(limit: 2, queue: 3),
            """
            arrive      [abcde]-----
            finish      -ab[cd]e
            granted     [ab]cde-
            """)
    }

    @Test("under defer a full queue refuses the newest request")
    func deferRefusesTheNewcomerWhenTheQueueIsFull() {
        check(
            Bench(limit: 1, queue: 2),
            """
            arrive      abcde-f
            finish      -----a-
            granted     a----b-
            queue_full  ---de--
            """)
    }

    @Test("under dropNewest a request that finds no free slot is refused")
    func dropNewestRefusesWithoutAFreeSlot() {
        check(
            Bench(limit: 1, queue: 2, policy: .dropNewest),
            """
            arrive      ab-c-d
            finish      --a-c-
            granted     a--c-d
            queue_full  -b----
            """)
    }

    @Test("under dropOldest each new request displaces the oldest waiter of a full queue")
    func dropOldestKeepsTheFreshest() {
        check(
            Bench(limit: 1, queue: 1, policy: .dropOldest),
            """
            arrive      abcdef-
            finish      ------a
            granted     a-----f
            displaced   --bcde-
            """)
    }

    @Test("under dropOldest without a queue the new request is refused")
    func dropOldestWithoutAQueueRefusesTheNewcomer() {
        check(
            Bench(limit: 1, queue: 0, policy: .dropOldest),
            """
            arrive      ab
            granted     a-
            queue_full  -b
            """)
    }

    @Test("a waiter is refused when the longest wait is over")
    func nobodyWaitsLongerThanTheLongestWait() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(4)),
            """
            arrive          abc------
            granted         a--------
            wait_timed_out  -----bc--
            """)
    }

    @Test("a deadline ends a wait before the longest wait is over")
    func aDeadlineEndsTheWaitBeforeTheLongestWaitDoes() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(4)),
            """
            arrive             ab------
            hurry              --c-----
            granted            a-------
            deadline_exceeded  -----c--
            wait_timed_out     -----b--
            """)
    }

    @Test("an earlier deadline resets the timer, and the waiter with the later timeout still times out")
    func aDeadlineThatComesBeforeTheTimerSetResetsIt() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(8)),
            """
            arrive             ab--------
            hurry              --c-------
            granted            a--------
            deadline_exceeded  -----c----
            wait_timed_out     ---------b
            """)
    }

    @Test("after a grant the timer is set again for a later waiter")
    func theTimerIsSetAgainForThoseWhoCameLater() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(3)),
            """
            arrive          ab-c---
            finish          --a----
            granted         a-b----
            wait_timed_out  ------c
            """)
    }

    @Test("a slot released in the second of a waiter's timeout goes to the next waiter")
    func aSlotThatComesBackInTheSecondOfTheTimeoutGoesToTheNext() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(3)),
            """
            arrive          a-bc---
            finish          -----a-
            granted         a----c-
            wait_timed_out  -----b-
            """)
    }

    @Test("cancelled waiters leave from any place in the queue")
    func theCancelledLeaveFromAnywhereInTheQueue() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive     [abcdef]------
            cancel     -d--f-
            finish     --ab-c
            granted    a-bc-e
            cancelled  -d--f-
            """)
    }

    @Test("the place of a cancelled waiter is free at once")
    func theirPlacesAreFreeAtOnce() {
        check(
            Bench(limit: 1, queue: 1),
            """
            arrive      abcd-
            cancel      ---b-
            finish      ----a
            granted     a---d
            queue_full  --c--
            cancelled   ---b-
            """)
    }

    @Test("a higher limit lets waiters in at once")
    func aHigherLimitLetsWaitersInAtOnce() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive   [abcd]---
            limit    -3-
            finish   --b
            granted  a[bc]d
            """)
    }

    @Test("after a lower limit waiters get slots only when enough slots have been released")
    func aLowerLimitWaitsForSlotsToComeBack() {
        check(
            Bench(limit: 3, queue: 9),
            """
            arrive   [abcde]------
            limit    -1----
            finish   --abcd
            granted  [abc]---de
            """)
    }

    @Test("under defer a smaller queue displaces the newest waiters")
    func aSmallerQueueDisplacesTheNewest() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive     [abcde]---
            queue      -2-
            finish     --a
            granted    a-b
            displaced  -[ed]-
            """)
    }

    @Test("under dropOldest a smaller queue displaces the oldest waiters")
    func underDropOldestASmallerQueueDisplacesTheOldest() {
        check(
            Bench(limit: 1, queue: 9, policy: .dropOldest),
            """
            arrive     [abcde]---
            queue      -2-
            finish     --a
            granted    a-d
            displaced  -[bc]-
            """)
    }

    @Test("a drain serves the waiters, refuses new requests and ends with the last slot")
    func aDrainServesThoseWhoWait() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive    [abc]-d----
            drain     -*-----
            finish    ---abc-
            granted   a--bc--
            draining  --d----
            drained   -----*-
            """)
    }

    @Test("a drain that refuses the waiters ends when the last slot is released")
    func aDrainThatRefusesThemEndsWithTheLastSlot() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive    [abc]---
            drain     -!-
            finish    --a
            granted   a--
            draining  -[bc]-
            drained   --*
            """)
    }

    @Test("an idle limiter is drained at once")
    func anIdleLimiterIsDrainedAtOnce() {
        check(
            Bench(),
            """
            drain    -*-
            arrive   --a
            draining --a
            drained  -*-
            """)
    }

    @Test("a request whose deadline cannot be met is refused at once")
    func aDeadlineThatCannotBeMetIsRefusedAtOnce() {
        // One request takes 2 s: with one in progress and one waiting, an answer within 3 s is impossible.
        check(
            Bench(limit: 1, queue: 9, service: .seconds(2)),
            """
            arrive   a----
            hurry    -b---
            finish   --a-b
            granted  a-b--
            """)
        check(
            Bench(limit: 1, queue: 9, service: .seconds(2)),
            """
            arrive                [ab]-
            hurry                 -c
            granted               a-
            deadline_unreachable  -c
            """)
    }
}
