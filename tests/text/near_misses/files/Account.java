package org.example.bank;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/** An account with its bookings. */
public final class Account {

    private final String number;
    private final String owner;
    private final List<Booking> bookings = new ArrayList<>();
    private BigDecimal balance = BigDecimal.ZERO;
    private boolean closed;

    public Account(String number, String owner) {
        this.number = Objects.requireNonNull(number, "number");
        this.owner = Objects.requireNonNull(owner, "owner");
    }

    public String getNumber() {
        return number;
    }

    public String getOwner() {
        return owner;
    }

    public BigDecimal getBalance() {
        return balance;
    }

    public boolean isClosed() {
        return closed;
    }

    public List<Booking> getBookings() {
        return Collections.unmodifiableList(bookings);
    }

    public synchronized void deposit(BigDecimal amount, String text) {
        checkOpen();
        if (amount.signum() <= 0) {
            throw new IllegalArgumentException("The amount must be positive");
        }

        balance = balance.add(amount);
        bookings.add(new Booking(Instant.now(), amount, text));
    }

    public synchronized void withdraw(BigDecimal amount, String text) {
        checkOpen();
        if (amount.signum() <= 0) {
            throw new IllegalArgumentException("The amount must be positive");
        }
        if (balance.compareTo(amount) < 0) {
            throw new IllegalStateException("There is not enough money in account " + number);
        }

        balance = balance.subtract(amount);
        bookings.add(new Booking(Instant.now(), amount.negate(), text));
    }

    public synchronized void close() {
        checkOpen();
        if (balance.signum() != 0) {
            throw new IllegalStateException("Account " + number + " still has money");
        }

        closed = true;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("Account " + number + " is closed");
        }
    }
}
