<div>
  {/* ... existing code ... */}
</div>
